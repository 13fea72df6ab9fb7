import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifMatch, ifNoneMatch } from './etag.ts';

test('If-Match takes the tag itself, one of several, or any', () => {
  for (const header of [undefined, '"2"', '"1", "2"', '*'])
    assert.equal(ifMatch(header, '"2"'), true);
  for (const header of ['"1"', 'W/"2"', '2', ''])
    assert.equal(ifMatch(header, '"2"'), false, header);
});

test('If-None-Match takes a weak tag too, and without it nothing is known', () => {
  for (const header of ['"2"', 'W/"2"', '"1","2"', '*'])
    assert.equal(ifNoneMatch(header, '"2"'), true);
  for (const header of [undefined, '"1"', '2']) assert.equal(ifNoneMatch(header, '"2"'), false);
});
