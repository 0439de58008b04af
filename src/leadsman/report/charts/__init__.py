"""The charts of the page: selection of their data, and their drawings as SVG."""
