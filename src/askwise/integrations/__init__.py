"""askwise inside other libraries: scikit-learn and Gymnasium."""
