/** `parley watch`: follows a task until it ends or waits for input, and reconnects if the connection breaks. */
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open } from '../remote/connection.ts';
import { option, wholeNumber } from '../program/flags.ts';
import { follow } from '../remote/follow.ts';

export default defineCommand({
  operands: ['URL', 'TASK'],
  about: 'Follows a task until it ends or waits for input. Reconnects if the connection breaks.',
  flags: {
    after: option('SEQ', 'Continue after the event with this sequence number.'),
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
