/** `parley get`: shows a task. */
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open } from '../remote/connection.ts';
import { describeTask } from '../program/render.ts';
import { sayJson } from '../program/terminal.ts';

export default defineCommand({
  operands: ['URL', 'TASK'],
  about: 'Shows the current state of a task.',
  flags: CONNECTION_FLAGS,
  examples: [
    'parley get http://127.0.0.1:41242 0197f0c5-…',
    'parley get http://127.0.0.1:41242 0197f0c5-… --json | jq .status',
  ],

  async run(input) {
    const { agent, codec, json } = await open(input);
    const task = await agent.get(input.operands[1] ?? '');
    if (json) sayJson(codec.encodeResult('getTask', task));
    else process.stdout.write(describeTask(task));
  },
});
