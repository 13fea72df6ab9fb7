import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Artifact, Part as A2APart } from '../../protocol/index.ts';
import type { ReceivedPart } from '../converter.ts';
import { RemoteContent } from './content.ts';
import { REMOTE_LIMITS, RemoteTaskGuard } from '../../client/index.ts';

const text = (said: string): A2APart => ({ kind: 'text', text: said });
const thought = (said: string): A2APart => ({
  kind: 'text',
  text: said,
  metadata: { 'parley.thought': true },
});
const artifact = (id: string, ...parts: A2APart[]): Artifact => ({ artifactId: id, parts });

function received(said?: ConstructorParameters<typeof RemoteContent>[1]): RemoteContent {
  const guard = new RemoteTaskGuard(REMOTE_LIMITS, { taskId: undefined, contextId: undefined });
  return new RemoteContent(guard, said);
}

function spoken(parts: readonly ReceivedPart[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

test('artifacts one after the other are told apart by a blank line', () => {
  const content = received();
  content.artifact(artifact('a', text('one')), false);
  content.artifact(artifact('b', text('two')), false);
  assert.equal(spoken(content.whole()), 'one\n\ntwo');
});

for (const [how, closing] of Object.entries({
  'the same': 'one two',
  'the same with other blanks': ' one\n\ntwo ',
  'in another order': 'two\n\none',
  'only the last of it': 'two',
})) {
  test(`a last word that repeats what was said, ${how}, adds nothing`, () => {
    const content = received();
    content.artifact(artifact('a', text('one')), false);
    content.artifact(artifact('b', text('two')), false);
    assert.deepEqual(content.closing([text(closing)]), []);
    assert.equal(spoken(content.whole()), 'one\n\ntwo');
  });
}

test('a last word that says more is added', () => {
  const content = received();
  content.artifact(artifact('a', text('one')), false);
  content.closing([text('one and two')]);
  assert.equal(spoken(content.whole()), 'one\n\none and two');
});

test('what a status said meanwhile is the answer where there is no other', () => {
  const content = received();
  assert.deepEqual(content.progress([text('Hello')]), [{ kind: 'thought', text: 'Hello' }]);
  assert.deepEqual(content.whole(), [{ kind: 'text', text: 'Hello' }]);
});

test('a snapshot adds only what is new, of earlier turns as well', () => {
  const content = received({ a: [3, 1] });
  const file: A2APart = { kind: 'file', file: { uri: 'https://files.test/a' } };
  assert.deepEqual(content.snapshot(artifact('a', text('one'), file)), []);
  assert.deepEqual(content.snapshot(artifact('a', text('one'), file, text(' two'))), [
    { kind: 'text', text: ' two' },
  ]);
  assert.deepEqual(content.artifact(artifact('a', text(' three')), true), [
    { kind: 'text', text: ' three' },
  ]);
  assert.equal(spoken(content.whole()), ' two three');
  assert.deepEqual(content.said(), { a: [13, 1] });
});

test('an artifact that begins anew replaces what it said', () => {
  const content = received();
  content.artifact(artifact('a', text('wrong')), false);
  content.artifact(artifact('a', text('right')), false);
  assert.equal(spoken(content.whole()), 'right');
});

const piece = fc.oneof(
  fc.string({ minLength: 1, maxLength: 4 }).map(text),
  fc.string({ minLength: 1, maxLength: 4 }).map(thought),
  fc.webUrl().map((uri): A2APart => ({ kind: 'file', file: { uri } })),
);
const chunks = fc.array(fc.array(piece, { minLength: 1, maxLength: 3 }), { minLength: 1 });

test('property: all pieces together are the whole', () => {
  fc.assert(
    fc.property(fc.array(chunks, { maxLength: 3 }), (artifacts) => {
      const content = received();
      let shown = '';
      for (const [n, pieces] of artifacts.entries()) {
        for (const [at, parts] of pieces.entries()) {
          shown += spoken(content.artifact(artifact(`a${n}`, ...parts), at > 0));
        }
      }
      assert.equal(shown, spoken(content.whole()));
    }),
  );
});

test('property: snapshots at any moment neither lose nor repeat anything', () => {
  fc.assert(
    fc.property(chunks, fc.infiniteStream(fc.boolean()), (pieces, snapshots) => {
      const plain = received();
      const broken = received();
      const far: A2APart[] = [];
      let shown = '';
      for (const [at, parts] of pieces.entries()) {
        far.push(...parts);
        plain.artifact(artifact('a', ...parts), at > 0);
        const added = snapshots.next().value
          ? broken.snapshot(artifact('a', ...far))
          : broken.artifact(artifact('a', ...parts), at > 0);
        shown += spoken(added);
      }
      assert.deepEqual(broken.whole(), plain.whole());
      assert.equal(shown, spoken(plain.whole()));
    }),
  );
});

test('property: a turn that goes on says what the turns before have not said', () => {
  fc.assert(
    fc.property(chunks, chunks, (earlier, later) => {
      const first = received();
      first.artifact(artifact('a', ...earlier.flat()), false);
      const second = received(first.said());
      second.snapshot(artifact('a', ...earlier.flat(), ...later.flat()));
      const all = received();
      all.artifact(artifact('a', ...earlier.flat(), ...later.flat()), false);
      assert.equal(spoken(first.whole()) + spoken(second.whole()), spoken(all.whole()));
    }),
  );
});

test('a last word that is made to be slow to compare is compared at once', () => {
  const half = 'a'.repeat(200_000);
  const content = received();
  content.artifact(artifact('a', text(`${half}b${half}`)), false);
  const since = performance.now();
  assert.equal(content.closing([text(half.repeat(4))]).length, 1);
  assert.ok(performance.now() - since < 2000, 'in linear time');
});

test('the content of an artifact counts once, whether it is new, replaced or in a snapshot', () => {
  const limits = { ...REMOTE_LIMITS, maxContentLength: 10 };
  const guard = new RemoteTaskGuard(limits, { taskId: undefined, contextId: undefined });
  const content = new RemoteContent(guard, undefined);
  content.artifact(artifact('a', text('12345678')), false);
  content.snapshot(artifact('a', text('1234567890')));
  assert.equal(spoken(content.whole()), '1234567890');
  assert.throws(
    () => content.snapshot(artifact('a', text('12345678901'))),
    /content longer than 10/,
  );
});
