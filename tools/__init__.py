"""What Quaver's own repository needs: its house, its words, its releases, its certificate."""
