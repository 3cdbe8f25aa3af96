"""Models, one provider a file: they turn requests into responses (protocol: `quaver.core.model.Model`)."""
