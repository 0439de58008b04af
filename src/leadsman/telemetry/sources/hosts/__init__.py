"""Hosts: kernel, sockets, neighbours, packets, processors, clocks."""
