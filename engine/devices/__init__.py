"""Devices that compute beside the processor: which ones there are, whether they compute right, what each way costs."""
