import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logNotices, notices } from './notices.ts';

test('notices are logged as what they are: problems as warnings, remarks as notes', () => {
  const lines: [level: string, text: string][] = [];
  const at = (level: string) => (_fields: unknown, text?: string) =>
    void lines.push([level, text ?? '']);
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  const notify = logNotices(logger);
  notify(notices.noPrice('x:y'));
  notify(notices.hookRemark('edit', 'the tests fail'));
  notify(notices.mcpAvailable('git'));
  assert.deepEqual(lines, [
    ['warn', 'a problem for the operator'],
    ['info', 'a note for the operator'],
    ['info', 'a note for the operator'],
  ]);
});
