"""Domain events: published in the transaction of what they tell, delivered in order and at least once."""
