import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { A2AError } from '../../protocol/index.ts';
import { testGateway } from '../../../test/support/gateway-keys.ts';

// What should hold, in the simplest words: a secret counts while it has not ended and its key neither expired nor was
// revoked.
interface ModelSecret {
  readonly text: string;
  endsAt: number;
}

interface ModelKey {
  readonly id: string;
  readonly expiresAt: number;
  revoked: boolean;
  secrets: ModelSecret[];
}

const pick = fc.nat({ max: 9 });
const step = fc.oneof(
  fc.record({ do: fc.constant('create' as const), life: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ do: fc.constant('rotate' as const), pick, overlap: fc.nat({ max: 20 }) }),
  fc.record({ do: fc.constant('revoke' as const), pick }),
  fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 15 }) }),
  fc.record({ do: fc.constant('restart' as const) }),
);

test('whatever is made, rotated, revoked and waited for, exactly the right secrets count', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      using gateway = testGateway();
      let { keys } = gateway;
      const model: ModelKey[] = [];
      for (const each of steps) {
        const time = gateway.clock.time;
        const target = 'pick' in each ? model[each.pick % Math.max(1, model.length)] : undefined;
        if (each.do === 'create') {
          const expiresAt = time + each.life * 1000;
          const made = keys.create(
            {
              workspace: 'default',
              name: 'k',
              scopes: ['*'],
              expiresAt: new Date(expiresAt).toISOString(),
            },
            'test',
          );
          const secrets = [{ text: made.secret, endsAt: Infinity }];
          model.push({ id: made.key.id, expiresAt, revoked: false, secrets });
        } else if (each.do === 'rotate' && target) {
          rotate(target, each.overlap);
        } else if (each.do === 'revoke' && target) {
          keys.revoke('default', target.id, { force: true }, 'test');
          target.revoked = true;
        } else if (each.do === 'wait') {
          gateway.clock.time += each.seconds * 1000;
        } else if (each.do === 'restart') {
          keys = gateway.reopened();
        }
        check();
      }

      function rotate(target: ModelKey, overlap: number): void {
        const time = gateway.clock.time;
        const valid = target.secrets.filter(({ endsAt }) => endsAt > time);
        const refused =
          target.revoked || target.expiresAt <= time || (overlap > 0 && valid.length >= 5);
        try {
          const made = keys.rotate('default', target.id, { overlapSeconds: overlap }, 'test');
          assert.ok(!refused);
          const end = time + overlap * 1000;
          for (const secret of target.secrets) secret.endsAt = Math.min(secret.endsAt, end);
          target.secrets.push({ text: made.secret, endsAt: Infinity });
        } catch (error) {
          assert.ok(
            refused && error instanceof A2AError && error.kind === 'conflict',
            String(error),
          );
        }
      }

      function check(): void {
        const time = gateway.clock.time;
        for (const { id, expiresAt, revoked, secrets } of model) {
          for (const { text, endsAt } of secrets) {
            const counts = !revoked && time < expiresAt && time < endsAt;
            assert.equal(keys.verify(text)?.id, counts ? id : undefined);
          }
        }
      }
    }),
    { numRuns: process.env['PARLEY_TEST_LONG'] ? 2000 : 60 },
  );
});
