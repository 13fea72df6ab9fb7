import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { offeredNames, toolPrefix } from './mcp-names.ts';

test('a tool is named after its server and itself', () => {
  assert.deepEqual(Object.fromEntries(offeredNames('files', ['read', 'list-all'])), {
    read: 'files__read',
    'list-all': 'files__list-all',
  });
});

test('characters that vendors do not accept are replaced', () => {
  assert.equal(offeredNames('my server', ['read/file']).get('read/file'), 'my_server__read_file');
  assert.equal(offeredNames('9p', ['x']).get('x'), '_9p__x');
});

test('of two tools with the same resulting name, the one whose name needed no change keeps it', () => {
  const names = offeredNames('s', ['a.b', 'a_b', 'a/b']);
  assert.equal(names.get('a_b'), 's__a_b');
  assert.match(names.get('a.b') ?? '', /^s__a_b_[0-9a-f]{8}$/);
  assert.equal(new Set(names.values()).size, 3);
});

test('every tool gets a unique name that every vendor accepts, in any order', () => {
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

test('tools of servers with different prefixes never have the same name', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '_', '.', '-', '1'), maxLength: 8 });
  const long = name.map((start) => `${'a'.repeat(50)}${start}`);
  fc.assert(
    fc.property(fc.oneof(name, long), fc.oneof(name, long), name, name, (one, other, a, b) => {
      fc.pre(toolPrefix(one) !== toolPrefix(other));
      assert.notEqual(offeredNames(one, [a]).get(a), offeredNames(other, [b]).get(b));
    }),
    { numRuns: 2_000 },
  );
});

test('servers whose names differ only in replaced characters have the same prefix', () => {
  const names = ['my.server', 'my_server', 'my..server', 'my.server.'];
  assert.deepEqual([...new Set(names.map(toolPrefix))], ['my_server__']);
  assert.equal(toolPrefix('4chan'), '_4chan__');
});
