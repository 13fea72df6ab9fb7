import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TasksConfig } from './config.ts';

test('with nothing said, tasks do not expire, what was ended can be read for an hour, and finished tasks are kept for 30 days and 2 GB', () => {
  assert.deepEqual(TasksConfig.parse({}), {
    keepExpiredSeconds: 3600,
    sweepSeconds: 30,
    retentionDays: 30,
  });
});

test('what is unknown, no number of seconds, or longer than allowed is refused by its name', () => {
  const wrong: [object, string][] = [
    [{ ttl: 5 }, 'ttl'],
    [{ ttlSeconds: 0 }, 'ttlSeconds'],
    [{ sweepSeconds: 1.5 }, 'sweepSeconds'],
    [{ ttlSeconds: 60, maxTtlSeconds: 59 }, 'ttlSeconds'],
  ];
  for (const [config, name] of wrong) {
    const { success, error } = TasksConfig.safeParse(config);
    assert.equal(success, false);
    assert.ok(JSON.stringify(error?.issues).includes(`"${name}"`));
  }
});
