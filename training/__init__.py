"""Optional fine-tuning that makes a middle layer draft well. Needs PyTorch; imports engine, models and common."""
