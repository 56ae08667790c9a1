"""Reading photos: what a file is, what it shows, and the proxies made of it."""
