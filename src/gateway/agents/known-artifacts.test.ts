// However a server cuts its chunks, a snapshot brings our log to what it says, and nothing twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { textOf, type Artifact, type Part } from '../../protocol/index.ts';
import { KnownArtifacts } from './known-artifacts.ts';

function artifact(parts: readonly Part[], rest: Partial<Artifact> = {}): Artifact {
  return { artifactId: 'a', parts: [...parts], ...rest };
}

const text = (value: string): Part => ({ kind: 'text', text: value });
const part = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 3 }).map(text) },
  fc.integer().map((n): Part => ({ kind: 'data', data: { n } })),
  fc.string().map((value): Part => ({ kind: 'text', text: value, metadata: { marked: true } })),
);

/** What is said, however it is cut. */
function said(parts: readonly Part[]): string {
  return JSON.stringify(
    parts.reduce<unknown[]>((out, each) => {
      const plain = each.kind === 'text' && each.metadata === undefined;
      if (plain && typeof out.at(-1) === 'string') out.push(`${String(out.pop())}${each.text}`);
      else if (!plain || each.text !== '') out.push(plain ? each.text : each);
      return out;
    }, []),
  );
}

test('what was missed is appended: the prefix that the log has and the difference are the whole', () => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), fc.nat(), (parts, cut) => {
      const kept = parts.slice(0, cut % (parts.length + 1));
      const mirror = new KnownArtifacts(kept.length > 0 ? [artifact(kept)] : []);
      const event = mirror.update(artifact(parts));
      const log =
        event?.append === true
          ? [...kept, ...event.artifact.parts]
          : (event?.artifact.parts ?? kept);
      assert.equal(said(log), said(parts));
      if (kept.length > 0 && event) assert.equal(event.append, true, 'nothing is said again');
      assert.equal(mirror.update(artifact(parts)), undefined, 'the second time it is the same');
    }),
  );
});

test('whatever the log has, after the difference it has what the server has', () => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), fc.array(part), (ours, theirs) => {
      const mirror = new KnownArtifacts([artifact(ours)]);
      const event = mirror.update(artifact(theirs));
      const log =
        event?.append === true
          ? [...ours, ...event.artifact.parts]
          : (event?.artifact.parts ?? ours);
      assert.equal(said(log), said(theirs));
      assert.equal(mirror.update(artifact(theirs)), undefined, 'the second time it is the same');
    }),
  );
});

test('text that a server has joined is the same text', () => {
  const mirror = new KnownArtifacts();
  mirror.add(artifact([text('one ')]), false);
  mirror.add(artifact([text('two ')]), true);
  const event = mirror.update(artifact([text('one two three')]));
  assert.deepEqual([event?.append, textOf(event?.artifact.parts ?? [])], [true, 'three']);
});

test('what differs is replaced, a name too', () => {
  const mirror = new KnownArtifacts([artifact([text('one')])]);
  assert.deepEqual(mirror.update(artifact([text('other')])), {
    kind: 'artifact-update',
    artifact: artifact([text('other')]),
  });
  const named = artifact([text('other')], { name: 'answer' });
  assert.deepEqual(mirror.update(named), { kind: 'artifact-update', artifact: named });
});

test('an artifact that has become empty is replaced by an empty text, and a new empty one is ignored', () => {
  const known = new KnownArtifacts([artifact([text('one')])]);
  assert.deepEqual(known.update(artifact([])), {
    kind: 'artifact-update',
    artifact: artifact([text('')]),
  });
  assert.equal(known.update(artifact([])), undefined, 'the second time it is the same');
  const named = artifact([], { name: 'answer' });
  assert.deepEqual(known.update(named)?.artifact, { ...named, parts: [text('')] });
  assert.equal(new KnownArtifacts().update(named), undefined);
});
