"""The worker of a small platform: domain events and recurring chores, side by side in one process."""
