import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TaskEvent, v03, v1, type WireCodec } from '../../protocol/index.ts';
import { EventLog } from './event-log.ts';
import { consoleLogger } from './logger.ts';
import { memoryStore } from '../store/memory-store.ts';
import { Published } from './published.ts';

const artifact = { artifactId: 'a', parts: [{ kind: 'text' as const, text: 'x' }] };
const event: TaskEvent = { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact };

/** A codec that counts how often it encodes. */
function counting(codec: WireCodec): WireCodec & { count: number } {
  const counted = {
    ...codec,
    count: 0,
    encodeEvent(shown: Parameters<WireCodec['encodeEvent']>[0]) {
      counted.count++;
      return codec.encodeEvent(shown);
    },
    eventText(shown: Parameters<WireCodec['encodeEvent']>[0]) {
      const text = codec.eventText?.(shown);
      if (text !== undefined) counted.count++;
      return text;
    },
  };
  return counted;
}

test('an event is serialised once per version, whatever the number of readers', () => {
  const codec = counting(v1);
  const log = new EventLog(memoryStore(), consoleLogger);
  const task = {
    kind: 'task' as const,
    id: 't',
    contextId: 'c',
    status: { state: 'working' as const },
  };
  using live = log.create({ tenant: '', owner: '' }, task);
  const texts: string[] = [];
  for (let reader = 0; reader < 1000; reader++) {
    const sink = {
      take: (entry: Published) => texts.push(entry.text(codec)) > 0,
      end: () => {},
    };
    log.read(live, 1, sink).resume();
  }
  void log.append(live, event);
  assert.equal(texts.length, 1000);
  assert.equal(new Set(texts).size, 1);
  assert.equal(codec.count, 1);
});

test('readers of both versions get their own text, and each is made once', () => {
  const [old, current] = [counting(v03), counting(v1)];
  const published = new Published({ seq: 1, event });
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(JSON.parse(published.text(old)), v03.encodeEvent(event));
    assert.deepEqual(JSON.parse(published.text(current)), v1.encodeEvent(event));
  }
  assert.deepEqual([old.count, current.count], [1, 1]);
});

test("the text that the store made serves 0.3 as it is, because the inner shape is 0.3's", () => {
  const json = JSON.stringify(event);
  assert.equal(new Published({ seq: 1, event, json }).text(v03), json);
});
