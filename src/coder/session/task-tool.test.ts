import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TASK_TOOL } from '../approval/policy.ts';
import { speakerOf } from './task-tool.ts';

test("a helper's long name is shortened between two characters", () => {
  const named = (name: string) => speakerOf({ tool_name: TASK_TOOL, input_parameters: { name } });
  assert.equal(named(` ${'a'.repeat(79)}😀`), 'a'.repeat(79));
  assert.equal(named('two\n words '), 'two words');
});
