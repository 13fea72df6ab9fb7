import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson } from './index.ts';

test('the examples of RFC 8785 have its canonical form', () => {
  // Section 3.2.2.
  const primitives = JSON.parse(
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
  );
  assert.equal(
    canonicalJson(primitives),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
  // Section 3.2.3: names are sorted by UTF-16 code units.
  const names = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  assert.match(canonicalJson(names), /Carriage Return.*One.*Control.*Latin.*Euro.*Emoji.*Hebrew/s);
});

test('names that look like numbers are sorted as text, and absent members are left out', () => {
  assert.equal(
    canonicalJson({ 9: 1, 10: { b: undefined, a: [] }, __proto__x: '' }),
    '{"10":{"a":[]},"9":1,"__proto__x":""}',
  );
});
