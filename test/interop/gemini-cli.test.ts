// Gemini CLI with the coding agent as a remote agent, by its bytes: it sends a text over 0.3, and hands what it reads to
// its model. Data parts would become text there. The real program is tried in test/clients.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Artifact, Part, StreamEvent, Task } from '../../src/protocol/index.ts';
import { makePlace, startCoder, userMessage } from '../coder/support.ts';

/** What it makes of a stream: the agent's messages, then the artifacts, each chunk once. */
class Reading {
  readonly #said: string[] = [];
  readonly #artifacts = new Map<string, string[]>();
  taskId: string | undefined;
  contextId: string | undefined;

  take(event: StreamEvent): void {
    if (event.kind === 'task' || event.kind === 'status-update') {
      const ids = event.kind === 'task' ? { taskId: event.id } : { taskId: event.taskId };
      const isOver = event.status.state === 'completed';
      this.taskId = isOver ? undefined : ids.taskId;
      this.contextId = event.contextId;
      this.#say(event.status.message);
    }
    if (event.kind === 'task') {
      for (const artifact of event.artifacts ?? []) this.#add(artifact, false);
    }
    if (event.kind === 'artifact-update') this.#add(event.artifact, event.append === true);
  }

  #say(message: Task['status']['message']): void {
    if (!message || message.role === 'user') return;
    const text = textOf(message.parts);
    if (text !== '' && this.#said.at(-1) !== text) this.#said.push(text);
  }

  #add({ artifactId, parts }: Artifact, append: boolean): void {
    const chunks = append ? (this.#artifacts.get(artifactId) ?? []) : [];
    this.#artifacts.set(artifactId, [...chunks, textOf(parts)]);
  }

  get text(): string {
    const artifacts = [...this.#artifacts.values()].map((chunks) => chunks.join(''));
    return [this.#said.join(''), ...artifacts].filter((each) => each !== '').join('\n\n');
  }
}

function textOf(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      return part.kind === 'data'
        ? `Data: ${JSON.stringify(part.data)}`
        : `File: ${part.file.name}`;
    })
    .join('');
}

async function ask(url: string, text: string, to?: Reading) {
  const { taskId, contextId } = to ?? {};
  const ids = { ...(taskId !== undefined && { taskId }), ...(contextId && { contextId }) };
  const params = { message: userMessage(text, ids) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params });
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const sent = await fetch(url, { method: 'POST', headers, body });
  const reading = new Reading();
  for (const [, data] of (await sent.text()).matchAll(/^data: (.*)$/gm)) {
    reading.take((JSON.parse(data!) as { result: StreamEvent }).result);
  }
  return reading;
}

test('its model gets the text of each turn once, without thoughts and calls', async (t) => {
  const thought = { thought: { subject: 'Looking', description: 'I look at the folder.' } };
  const list = { call: { name: 'list_directory', args: {} } };
  const script = [
    [thought, { text: 'I look.' }, list],
    [{ text: 'It is empty.' }],
    [{ text: 'Yes.' }],
  ];
  const { url } = await startCoder(t, makePlace(t), { script });
  const first = await ask(url, 'What is here?');
  assert.equal(first.text, 'I look.\n\nIt is empty.');
  assert.equal(first.taskId, undefined);
  assert.equal((await ask(url, 'Sure?', first)).text, 'Yes.');
});

test('its model answers an approval with the name of an option', async (t) => {
  const place = makePlace(t);
  const write = { call: { name: 'write_file', args: { path: 'note.txt', content: 'by hand' } } };
  const { url } = await startCoder(t, place, { script: [[write], [{ text: 'It is written.' }]] });
  const asked = await ask(url, 'write it');
  assert.match(asked.text, /note\.txt[^]*Allow once[^]*Reject/);
  assert.doesNotMatch(asked.text, /Data: |tool_call_id/);
  const done = await ask(url, 'Allow once', asked);
  assert.match(done.text, /\n\nIt is written\.$/);
  assert.equal(readFileSync(join(place.workspace, 'note.txt'), 'utf8'), 'by hand');
});
