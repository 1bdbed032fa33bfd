"""Sections of pages that show much: each places its pictures and says what they show."""
