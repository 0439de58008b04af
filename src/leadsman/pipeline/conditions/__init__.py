"""What is wrong, even where no failure mode knows why: conditions out of the event table."""
