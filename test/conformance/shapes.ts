/** What may be in each object of the protocol, and what must: strict readers refuse anything else. */
import assert from 'node:assert/strict';
import { type Json, NEW_REST, NEW_RPC, OLD_REST, OLD_RPC, type Wire } from './support.ts';

interface Fields {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
}

interface Shapes {
  readonly task: Fields;
  readonly status: Fields;
  readonly message: Fields;
  readonly artifact: Fields;
  readonly part: (part: Json) => void;
  readonly statusUpdate: Fields;
  readonly artifactUpdate: Fields;
  readonly parts: string;
  readonly words: { readonly state: RegExp; readonly role: RegExp };
}

function only(object: Json, { required, optional = [] }: Fields, what: string): void {
  for (const name of required) assert.ok(object[name] !== undefined, `${what} has no ${name}`);
  for (const name of Object.keys(object)) {
    assert.ok(required.includes(name) || optional.includes(name), `${what} has a ${name}`);
  }
}

const words = { state: /^TASK_STATE_[A-Z_]+$/, role: /^ROLE_(USER|AGENT)$/ };

const current: Shapes = {
  task: {
    required: ['id', 'contextId', 'status'],
    optional: ['artifacts', 'history', 'metadata'],
  },
  status: { required: ['state', 'timestamp'], optional: ['message'] },
  message: {
    required: ['messageId', 'role', 'parts'],
    optional: ['contextId', 'taskId', 'metadata', 'extensions', 'referenceTaskIds'],
  },
  artifact: {
    required: ['artifactId', 'parts'],
    optional: ['name', 'description', 'metadata', 'extensions'],
  },
  part(part) {
    const contents = ['text', 'raw', 'url', 'data'].filter((name) => name in part);
    assert.equal(contents.length, 1, JSON.stringify(part));
    only(part, { required: contents, optional: ['mediaType', 'filename', 'metadata'] }, 'a part');
  },
  statusUpdate: { required: ['taskId', 'contextId', 'status'], optional: ['metadata'] },
  artifactUpdate: {
    required: ['taskId', 'contextId', 'artifact'],
    optional: ['append', 'lastChunk', 'metadata'],
  },
  parts: 'parts',
  words,
};

const oldRest: Shapes = {
  ...current,
  message: {
    required: ['messageId', 'role', 'content'],
    optional: ['contextId', 'taskId', 'metadata', 'extensions'],
  },
  part(part) {
    const contents = ['text', 'file', 'data'].filter((name) => name in part);
    assert.equal(contents.length, 1, JSON.stringify(part));
    only(part, { required: contents, optional: ['metadata'] }, 'a part');
    const { file, data } = part as { file?: Json; data?: Json };
    if (data) only(data, { required: ['data'] }, 'data');
    if (!file) return;
    const where = 'fileWithUri' in file ? 'fileWithUri' : 'fileWithBytes';
    only(file, { required: [where], optional: ['mimeType', 'name'] }, 'a file');
  },
  statusUpdate: { required: ['taskId', 'contextId', 'status', 'final'], optional: ['metadata'] },
  parts: 'content',
};

function withKind(fields: Fields): Fields {
  return { ...fields, required: ['kind', ...fields.required] };
}

const oldRpc: Shapes = {
  ...current,
  task: withKind(current.task),
  message: withKind(current.message),
  part(part) {
    const kind = String(part['kind']);
    assert.match(kind, /^(text|file|data)$/);
    only(part, { required: ['kind', kind], optional: ['metadata'] }, 'a part');
    if (kind !== 'file') return;
    const file = part['file'] as Json;
    const where = 'uri' in file ? 'uri' : 'bytes';
    only(file, { required: [where], optional: ['mimeType', 'name'] }, 'a file');
  },
  statusUpdate: withKind({ ...current.statusUpdate, required: oldRest.statusUpdate.required }),
  artifactUpdate: withKind(current.artifactUpdate),
  words: {
    state: /^(submitted|working|input-required|completed|canceled|failed|rejected|auth-required)$/,
    role: /^(user|agent)$/,
  },
};

const SHAPES = new Map<Wire, Shapes>([
  [OLD_RPC, oldRpc],
  [OLD_REST, oldRest],
  [NEW_RPC, current],
  [NEW_REST, current],
]);

export type Kind = 'task' | 'message' | 'statusUpdate' | 'artifactUpdate';

/** Fails unless the object, and all that is in it, is as that way of talking has it. */
export function checkShape(wire: Wire, kind: Kind, object: Json): void {
  const shapes = SHAPES.get(wire)!;
  const list = (value: unknown): Json[] => (value ?? []) as Json[];

  function message(raw: Json): void {
    only(raw, shapes.message, 'a message');
    assert.match(String(raw['role']), shapes.words.role);
    assert.notEqual(list(raw[shapes.parts]).length, 0, 'a message has parts');
    for (const part of list(raw[shapes.parts])) shapes.part(part);
  }
  function artifact(raw: Json): void {
    only(raw, shapes.artifact, 'an artifact');
    assert.notEqual(list(raw['parts']).length, 0, 'an artifact has parts');
    for (const part of list(raw['parts'])) shapes.part(part);
  }
  function status(raw: Json): void {
    only(raw, shapes.status, 'a status');
    assert.match(String(raw['state']), shapes.words.state);
    assert.match(String(raw['timestamp']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    if (raw['message'] !== undefined) message(raw['message'] as Json);
  }

  if (kind === 'message') return message(object);
  only(object, shapes[kind], kind);
  if (kind === 'artifactUpdate') return artifact(object['artifact'] as Json);
  status(object['status'] as Json);
  for (const one of list(object['history'])) message(one);
  for (const one of list(object['artifacts'])) artifact(one);
}
