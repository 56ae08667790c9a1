"""What the library asks of a store, by who needs it: small protocols, implemented twice."""
