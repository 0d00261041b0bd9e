// Elements from data, and a document that follows them. Text is only ever set as text, so no name can be markup.

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'path', 'rect', 'line']);

// What cannot be seen, or turns the direction of writing, is written out.
export function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// make('td', {class: 'now'}, 'text', element, [elements], null). Attributes that begin with "on" are listeners.
export function make(tag, attributes, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) {
      element[name] = value;
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return element;
}

// Makes `old` like `wanted` and keeps what is alike, so that focus, selection and scrolling stay. Returns what stands there now.
export function follow(old, wanted) {
  if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName ||
      (old.nodeType === Node.ELEMENT_NODE && old.getAttribute('data-key') !== wanted.getAttribute('data-key'))) {
    old.replaceWith(wanted);
    return wanted;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return old;
  }
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const listener of ['onclick', 'onkeydown']) if (old[listener] !== wanted[listener]) old[listener] = wanted[listener];
  followChildren(old, [...wanted.childNodes]);
  return old;
}

export function followChildren(parent, wanted) {
  const old = [...parent.childNodes];
  wanted.forEach((node, i) => (i < old.length ? follow(old[i], node) : parent.append(node)));
  for (const node of old.slice(wanted.length)) node.remove();
}
