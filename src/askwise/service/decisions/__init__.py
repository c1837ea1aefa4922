"""What happens to a case: decided by the library, written in one transaction."""
