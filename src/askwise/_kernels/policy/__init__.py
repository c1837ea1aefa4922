"""These kernels compute what a case does under a policy that explores."""
