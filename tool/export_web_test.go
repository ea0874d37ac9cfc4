package tool

// SameSite is sameSite.
var SameSite = sameSite

// Readable is readable.
var Readable = readable
