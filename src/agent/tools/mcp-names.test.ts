import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { offeredNames } from './mcp-names.ts';

test('a tool is named after its server and itself', () => {
  assert.deepEqual(Object.fromEntries(offeredNames('files', ['read', 'list-all'])), {
    read: 'files__read',
    'list-all': 'files__list-all',
  });
});

test('letters that vendors do not take are replaced', () => {
  assert.equal(offeredNames('my server', ['read/file']).get('read/file'), 'my_server__read_file');
  assert.equal(offeredNames('9p', ['x']).get('x'), '_9p__x');
});

test('of two that become the same, the one that needed no change keeps the name', () => {
  const names = offeredNames('s', ['a.b', 'a_b', 'a/b']);
  assert.equal(names.get('a_b'), 's__a_b');
  assert.match(names.get('a.b') ?? '', /^s__a_b_[0-9a-f]{8}$/);
  assert.equal(new Set(names.values()).size, 3);
});

test('every tool has a name of its own that every vendor takes, in whatever order they come', () => {
  const tool = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '_', '.', '/', 'ü'), maxLength: 5 }),
    fc.string({ unit: 'binary', minLength: 50, maxLength: 90 }),
  );
  fc.assert(
    fc.property(fc.string(), fc.array(tool, { maxLength: 20 }), (server, tools) => {
      const names = offeredNames(server, tools);
      const kinds = new Set(tools);
      assert.equal(names.size, kinds.size);
      assert.equal(new Set(names.values()).size, kinds.size);
      for (const name of names.values()) assert.match(name, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
      const turned = offeredNames(server, tools.toReversed());
      for (const [of, name] of names) assert.equal(turned.get(of), name);
    }),
  );
});
