"""Many programs through the whole job, each in processes of its own."""
