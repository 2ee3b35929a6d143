// python.exe and, with WINDOWED, pythonw.exe: what python.org's programs do, beside its python311.dll.
#include <windows.h>
__declspec(dllimport) int Py_Main(int, wchar_t **);
#ifdef WINDOWED
int WINAPI wWinMain(HINSTANCE own, HINSTANCE before, wchar_t *line, int show) { return Py_Main(__argc, __wargv); }
#else
int wmain(int count, wchar_t **arguments) { return Py_Main(count, arguments); }
#endif
