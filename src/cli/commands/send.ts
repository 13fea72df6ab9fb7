/** `parley send`: a message to an agent, and its answer. */
import { isObject } from '../../base/index.ts';
import { text as readAll } from 'node:stream/consumers';
import { type Part } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open, targetOf } from '../remote/connection.ts';
import { usageError } from '../program/exit.ts';
import { json } from '../program/flags.ts';
import { follow } from '../remote/follow.ts';
import { conclude } from '../remote/outcome.ts';
import { answerOf, contentOf, ended } from '../program/render.ts';
import { sayJson } from '../program/terminal.ts';

export default defineCommand({
  name: 'send',
  operands: ['URL', '[TEXT]'],
  about: 'Sends a message to an agent and prints its answer. Without TEXT, standard input is sent.',
  flags: {
    stream: { type: 'boolean', help: 'Print the answer as it comes.' },
    task: { type: 'string', value: 'ID', help: 'The task that the message is for.' },
    context: { type: 'string', value: 'ID', help: 'The conversation that it belongs to.' },
    data: { type: 'string', value: 'JSON', help: 'A data part, beside the text or instead.' },
    metadata: { type: 'string', value: 'JSON', help: "The message's metadata, an object." },
    extension: {
      type: 'string',
      multiple: true,
      value: 'URI',
      help: 'An extension to activate.',
    },
    ...CONNECTION_FLAGS,
  },
  examples: [
    'parley send http://127.0.0.1:41242 "hello there"',
    'parley send http://127.0.0.1:41242 --stream < question.txt',
    'parley send http://127.0.0.1:41242 --task 0197f0c5-… "yes, go on"',
  ],

  async run(input) {
    const { values, operands } = input;
    targetOf(input);
    const metadata = metadataOf(values.metadata);
    const parts = await partsOf(operands[1], values.data);
    const connection = await open(input, values.extension);
    const options = {
      taskId: values.task,
      contextId: values.context,
      ...(metadata && { metadata }),
    };
    if (values.stream) return follow(connection.agent.stream(parts, options), connection);

    const result = await connection.agent.send(parts, options);
    if (values.json) sayJson(connection.codec.encodeResult('sendMessage', result));
    else
      process.stdout.write(
        ended(result.kind === 'task' ? answerOf(result) : contentOf(result.parts)),
      );
    return conclude(result, connection);
  },
});

async function partsOf(given: string | undefined, data: string | undefined): Promise<Part[]> {
  const parts: Part[] = [];
  if (data !== undefined) parts.push({ kind: 'data', data: json('--data', data) });
  const text = given ?? (parts.length > 0 ? undefined : await readInput());
  if (text !== undefined) parts.unshift({ kind: 'text', text });
  return parts;
}

async function readInput(): Promise<string> {
  if (process.stdin.isTTY) {
    throw usageError('there is nothing to send: add the text, as in parley send URL "hello"');
  }
  const text = (await readAll(process.stdin)).replace(/\r?\n$/, '');
  if (text === '') throw usageError('there is nothing to send: standard input is empty');
  return text;
}

function metadataOf(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  const metadata = json('--metadata', text);
  if (isObject(metadata)) return metadata;
  throw usageError(`--metadata is an object, as in --metadata '{"key":"value"}'`);
}
