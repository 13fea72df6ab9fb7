/** `parley cancel`: cancels a task. */
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open } from '../remote/connection.ts';
import { stateOf } from '../program/render.ts';
import { say, sayJson, word } from '../program/terminal.ts';

export default defineCommand({
  operands: ['URL', 'TASK'],
  about: 'Cancels a task that has not ended.',
  flags: CONNECTION_FLAGS,
  examples: ['parley cancel http://127.0.0.1:41242 0197f0c5-…'],

  async run(input) {
    const { agent, codec, json } = await open(input);
    const task = await agent.cancel(input.operands[1] ?? '');
    if (json) sayJson(codec.encodeResult('cancelTask', task));
    else say(`${word(task.id)}  ${stateOf(task.status.state)}`);
  },
});
