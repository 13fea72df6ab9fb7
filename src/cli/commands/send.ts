/** `parley send`: sends a message to an agent and prints the answer. */
import { text as readAll } from 'node:stream/consumers';
import { isObject } from '../../base/index.ts';
import type { Part } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open, targetOf } from '../remote/connection.ts';
import { usageError } from '../program/exit.ts';
import { json, listOption, option, toggle } from '../program/flags.ts';
import { follow, conclude } from '../remote/follow.ts';
import { answerOf, contentOf, ended } from '../program/render.ts';
import { sayJson } from '../program/terminal.ts';

export default defineCommand({
  operands: ['URL', '[TEXT]'],
  about:
    'Sends a message to an agent and prints its answer. If neither TEXT nor --data is given, standard input is sent.',
  flags: {
    stream: toggle('Print the answer as it arrives.'),
    task: option('ID', 'Send the message to this task.'),
    context: option('ID', 'Send the message in the conversation with this context id.'),
    data: option('JSON', 'Add a data part with this content. TEXT is then optional.'),
    metadata: option('JSON', "The message's metadata, a JSON object."),
    extension: listOption(
      'URI',
      'Activate this extension. By default, the development-tool extension is activated if the agent card lists it as optional; with --json, none is activated.',
    ),
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
    const named = values.json || values.extension.length > 0 ? values.extension : undefined;
    const connection = await open(input, named);
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
    throw usageError('there is no text to send: add it, for example parley send URL "hello"');
  }
  const text = (await readAll(process.stdin)).replace(/\r?\n$/, '');
  if (text === '') throw usageError('there is no text to send: standard input is empty');
  return text;
}

function metadataOf(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  const metadata = json('--metadata', text);
  if (isObject(metadata)) return metadata;
  throw usageError(`--metadata must be a JSON object, for example --metadata '{"key":"value"}'`);
}
