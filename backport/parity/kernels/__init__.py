"""Portable fused kernels in Triton, and the split kernels that they replace.

They run on NVIDIA and AMD GPUs, and on a CPU with TRITON_INTERPRET=1 set before
Triton is imported. Each module exports plain functions over tensors and, for
its tests, references in torch alone. Nothing here is imported unless asked for:
importing a module of this package needs torch and Triton.
"""
