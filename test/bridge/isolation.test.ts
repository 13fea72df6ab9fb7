// Many runs of one bridged agent at the same time: what belongs to one is seen in no other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../src/agent/agent.ts';
import { memoryArtifacts } from '../../src/agent/artifacts/memory.ts';
import { llmAgent } from '../../src/agent/agents/llm.ts';
import { parallelAgent } from '../../src/agent/agents/workflow.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import { bridge, lastOf, modelOf, send, toolOf } from './support.ts';

const RUNS = 200;

/** Notes the marker in state and in a file, and asks about every second one before it goes on. */
const note = toolOf('note', {
  async run({ marker }, ctx) {
    ctx.state.set('marker', marker ?? null);
    ctx.state.set('temp:marker', marker ?? null);
    await ctx.artifacts.save('marker.txt', { kind: 'text', text: `file of ${marker as string}` });
    await new Promise((resolve) => setImmediate(resolve));
    const asks = (marker as string).endsWith('1-');
    if (asks && !ctx.answer) return ctx.ask({ text: `May ${marker as string} go on?` });
    return { state: ctx.state.get('marker') ?? null, temp: ctx.state.get('temp:marker') ?? null };
  },
});

function worker(name: string): Agent {
  const model = modelOf((request) => {
    const last = lastOf(request);
    const response = last.find((part) => part.kind === 'function-response');
    if (response)
      return [
        { kind: 'text', text: 'noted ' },
        { kind: 'text', text: JSON.stringify(response) },
      ];
    const said = last.map((part) => (part.kind === 'text' ? part.text : '')).join('');
    const call = {
      kind: 'function-call',
      id: 'note',
      name: 'note',
      args: { marker: said },
    } as const;
    return [{ kind: 'thought', text: `thinking of ${said}` }, { kind: 'text', text: said }, call];
  });
  return llmAgent({ name, description: 'Notes a marker', model, tools: [note] });
}

test('of two hundred runs at once each has its own answer, artifacts, state and question', async (t) => {
  const sessions = memorySessions();
  const artifacts = memoryArtifacts();
  const team = parallelAgent({ name: 'team', subAgents: [worker('left'), worker('right')] });
  const { client } = await bridge(t, team, { sessions, artifacts });
  const agent = await client();
  const markers = Array.from({ length: RUNS }, (_, index) => `-m${index}-`);
  const tasks = await Promise.all(
    markers.map(async (marker) => {
      let task = await send(agent, marker, { contextId: `context${marker}` });
      for (let turn = 0; task.status.state === 'input-required'; turn++) {
        assert.ok(turn < 3, 'it asks no more than twice');
        const asked = task.status.message?.parts.find((part) => part.kind === 'data')?.data;
        const [question] = (asked as { questions: { id: string }[] }).questions;
        const answer = { questionId: question!.id, value: `answer of ${marker}` };
        task = await send(agent, [{ kind: 'data', data: answer }], { taskId: task.id });
      }
      return task;
    }),
  );
  for (const [index, marker] of markers.entries()) {
    const task = tasks[index]!;
    assert.equal(task.status.state, 'completed', marker);
    const key = { app: 'team', user: 'anonymous', id: `context${marker}` };
    const session = await sessions.get(key);
    const file = await artifacts.load(key, 'marker.txt');
    const files = (task.artifacts ?? []).flatMap(({ parts }) =>
      parts.map((part) =>
        part.kind === 'file' ? Buffer.from(part.file.bytes ?? '', 'base64').toString() : '',
      ),
    );
    const all = JSON.stringify([task, session, file, files]);
    assert.deepEqual([...new Set(all.match(/-m\d+-/g))], [marker]);
    assert.equal(session?.state['marker'], marker);
    assert.ok(files.includes(`file of ${marker}`));
    assert.ok(session?.events.every((event) => event.runId === task.id));
  }
});
