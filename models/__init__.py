"""Model files on this computer, the catalogue and downloads. Imports `common`, never the engine or llama.cpp."""
