"use strict";
// Values as text: three digits and a unit.

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 99.95 ? value.toFixed(0) : size >= 9.995 ? trimmed(value.toFixed(1)) : trimmed(value.toPrecision(3));
}

function trimmed(text) {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

function scaled(value, unit) {
  for (const [factor, prefix] of PREFIXES)
    if (Math.abs(value) >= factor * 0.9995) return digits(value / factor) + " " + prefix + unit;
  return digits(value) + (unit ? " " + unit : "");
}

function timeText(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0";
  if (size < 0.9995e-6) return digits(seconds * 1e9) + " ns";
  if (size < 0.9995e-3) return digits(seconds * 1e6) + " µs";
  if (size < 0.9995) return digits(seconds * 1e3) + " ms";
  return digits(seconds) + " s";
}

function microsecondsText(value) {
  return value === null || value === undefined ? "–" : timeText(value / 1e6);
}

// "1 234 567"
function whole(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function shareText(share) {
  return digits(share * 100) + " %";
}
