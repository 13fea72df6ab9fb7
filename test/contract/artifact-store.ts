/** What every artifact store promises, as tests. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { ArtifactContent, ArtifactStore } from '../../src/agent/artifact.ts';
import { MAX_ARTIFACT_SIZE } from '../../src/agent/artifacts/rules.ts';
import type { SessionKey } from '../../src/agent/session.ts';
import { isError } from './session-store.ts';

export interface OpenedArtifacts {
  readonly store: ArtifactStore;
  readonly dispose: () => Promise<void>;
}

const alice: SessionKey = { app: 'app', user: 'alice', id: 's1' };
const aliceToo: SessionKey = { ...alice, id: 's2' };
const bob: SessionKey = { ...alice, user: 'bob' };
const elsewhere: SessionKey = { ...alice, app: 'other' };

export function text(words: string): ArtifactContent {
  return { kind: 'text', text: words };
}

export function artifactStoreContract(name: string, open: () => Promise<OpenedArtifacts>): void {
  async function opened(t: TestContext): Promise<ArtifactStore> {
    const { store, dispose } = await open();
    t.after(dispose);
    return store;
  }

  describe(`${name}: artifacts`, () => {
    test('versions count from 0, and the latest is loaded unless one is named', async (t) => {
      const store = await opened(t);
      assert.equal(await store.save(alice, 'plan', text('first')), 0);
      assert.equal(await store.save(alice, 'plan', text('second')), 1);
      assert.deepEqual(await store.load(alice, 'plan'), text('second'));
      assert.deepEqual(await store.load(alice, 'plan', 0), text('first'));
      assert.deepEqual(await store.versions(alice, 'plan'), [0, 1]);
    });

    test('what was never saved is not there', async (t) => {
      const store = await opened(t);
      await store.save(alice, 'plan', text('first'));
      assert.equal(await store.load(alice, 'other'), undefined);
      assert.deepEqual(await store.versions(alice, 'other'), []);
      for (const version of [1, -1, 0.5]) {
        assert.equal(await store.load(alice, 'plan', version), undefined);
      }
    });

    test('bytes come back with all that was said of them', async (t) => {
      const store = await opened(t);
      const image: ArtifactContent = {
        kind: 'blob',
        mediaType: 'image/png',
        data: Buffer.from([0, 255, 128]).toString('base64'),
        name: 'dot.png',
        provider: { vendor: { signature: 'abc' } },
      };
      await store.save(alice, 'dot', image);
      assert.deepEqual(await store.load(alice, 'dot'), image);
    });

    test("a name that begins with user: is the user's, any other the session's", async (t) => {
      const store = await opened(t);
      await store.save(alice, 'plan', text('session'));
      await store.save(alice, 'user:photo', text('user'));
      assert.deepEqual(await store.list(alice), ['plan', 'user:photo']);
      assert.deepEqual(await store.list(aliceToo), ['user:photo']);
      assert.deepEqual(await store.load(aliceToo, 'user:photo'), text('user'));
      assert.equal(await store.load(aliceToo, 'plan'), undefined);
      assert.equal(await store.save(aliceToo, 'user:photo', text('newer')), 1);
      for (const other of [bob, elsewhere]) {
        assert.deepEqual(await store.list(other), []);
        assert.equal(await store.load(other, 'user:photo'), undefined);
      }
    });

    test("names are listed once and in order, the session's first", async (t) => {
      const store = await opened(t);
      for (const item of ['b', 'user:a', 'a', 'b', 'user:B', 'zz', '🙂', '\uffee']) {
        await store.save(alice, item, text(item));
      }
      const names = ['a', 'b', 'zz', '🙂', '\uffee', 'user:B', 'user:a'];
      assert.deepEqual(await store.list(alice), names);
    });

    test('deleting takes all versions, and counting begins anew', async (t) => {
      const store = await opened(t);
      await store.save(alice, 'plan', text('first'));
      await store.save(alice, 'plan', text('second'));
      await store.save(alice, 'other', text('stays'));
      assert.equal(await store.delete(alice, 'plan'), true);
      assert.equal(await store.delete(alice, 'plan'), false);
      assert.equal(await store.load(alice, 'plan'), undefined);
      assert.deepEqual(await store.list(alice), ['other']);
      assert.equal(await store.save(alice, 'plan', text('third')), 0);
    });

    test('saves at the same time get different versions', async (t) => {
      const store = await opened(t);
      const saves = Array.from({ length: 50 }, (_, n) => store.save(alice, 'plan', text(`${n}`)));
      const versions = await Promise.all(saves);
      assert.deepEqual(
        versions,
        versions.map((_, n) => n),
      );
      assert.deepEqual(await store.load(alice, 'plan', 49), text('49'));
    });

    test('what was handed in or out cannot be used to change what is stored', async (t) => {
      const store = await opened(t);
      const content = { kind: 'text' as const, text: 'true', provider: { a: ['b'] } };
      await store.save(alice, 'plan', content);
      content.text = 'false';
      content.provider.a.push('c');
      const expected = { kind: 'text', text: 'true', provider: { a: ['b'] } };
      const shown = await store.load(alice, 'plan');
      assert.deepEqual(shown, expected);
      try {
        Object.assign(shown, { text: 'false' });
      } catch {
        // A store may freeze what it hands out.
      }
      assert.deepEqual(await store.load(alice, 'plan'), expected);
    });

    test('strange names are names like any other', async (t) => {
      const store = await opened(t);
      const names = ['__proto__', '../../x', 'a:b', 'a/b', '%', 'user:__proto__', 'User:x', ' '];
      for (const item of names) await store.save(alice, item, text(item));
      for (const item of names) assert.deepEqual(await store.load(alice, item), text(item));
      assert.deepEqual((await store.list(alice)).toSorted(), names.toSorted());
    });

    for (const [what, id] of [
      ['an empty', ''],
      ['an overlong', 'x'.repeat(10_000)],
      ['a broken', '\ud83d'],
    ] as const) {
      test(`${what} name or id is refused`, async (t) => {
        const store = await opened(t);
        await assert.rejects(store.save(alice, id, text('x')), isError('invalid'));
        await assert.rejects(store.load(alice, id), isError('invalid'));
        await assert.rejects(store.delete(alice, id), isError('invalid'));
        await assert.rejects(store.save({ ...alice, id }, 'x', text('x')), isError('invalid'));
        await assert.rejects(store.list({ ...alice, user: id }), isError('invalid'));
      });
    }

    test('an artifact beyond the limit is refused', async (t) => {
      const store = await opened(t);
      const huge = text('x'.repeat(MAX_ARTIFACT_SIZE + 1));
      await assert.rejects(store.save(alice, 'huge', huge), isError('full'));
      assert.deepEqual(await store.list(alice), []);
    });

    test('a closed store says so', async (t) => {
      const store = await opened(t);
      await store.close();
      await store.close();
      await assert.rejects(store.load(alice, 'plan'), isError('closed'));
      await assert.rejects(store.save(alice, 'plan', text('late')), isError('closed'));
    });
  });
}
