/** `parley watch`: follows a task, through broken connections, to its end. */
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open } from '../remote/connection.ts';
import { wholeNumber } from '../program/flags.ts';
import { follow } from '../remote/follow.ts';

export default defineCommand({
  name: 'watch',
  operands: ['URL', 'TASK'],
  about:
    'Follows a task until it ends or waits for somebody. Takes up broken connections by itself.',
  flags: {
    after: { type: 'string', value: 'SEQ', help: 'Go on behind the event with this number.' },
    ...CONNECTION_FLAGS,
  },
  examples: [
    'parley watch http://127.0.0.1:41242 0197f0c5-…',
    'parley watch http://127.0.0.1:41242 0197f0c5-… --after 42 --json',
  ],

  async run(input) {
    const { values, operands } = input;
    const after =
      values.after === undefined
        ? undefined
        : wholeNumber('--after', values.after, { min: 0, max: Number.MAX_SAFE_INTEGER });
    const connection = await open(input);
    const stream = connection.agent.resubscribe(operands[1] ?? '', { after });
    return follow(stream, connection, { untilSettled: true });
  },
});
