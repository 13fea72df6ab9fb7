/** Sends requests to the agent over the interface that the person chooses, and shows each request and response. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { nameOfInterface } from '../../../client/checks/index.ts';
import { isGrpc } from '../../../client/index.ts';
import { reasonOf } from '../../../base/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { TriedCall, type CallInput, type TriedOperation } from './calls.ts';
import { ExchangeView } from './exchange-view.tsx';
import { ChoiceField } from '../parts/lists.tsx';
import type { AgentInterface } from '../../../protocol/index.ts';
import type { Inspection } from './inspection.ts';
import { bound, PageButton, Form, TextField, VERBATIM } from '../parts/controls.tsx';

/** Maximum number of calls whose results stay on the page. */
const MAX_CALLS = 5;

export function TryView({ inspection }: { readonly inspection: Inspection }) {
  // Interfaces over gRPC are left out, because a browser cannot use gRPC.
  const all = inspection.card?.card.supportedInterfaces ?? [];
  const offers = all.filter((offer) => !isGrpc(offer));
  const chosen = useSignal(0);
  const text = useSignal('');
  const taskId = useSignal('');
  const contextId = useSignal('');
  const after = useSignal('');
  const calls = useSignal<readonly TriedCall[]>([]);
  const results = useRef<HTMLDivElement>(null);

  const start = (operation: TriedOperation, more: Partial<CallInput> = {}) => {
    const offer = offers[chosen.value];
    if (!offer) return;
    const call = new TriedCall({
      operation,
      offer,
      text: text.value,
      taskId: taskId.value.trim(),
      contextId: contextId.value.trim(),
      after: '',
      ...more,
    });
    for (const other of calls.value) other.stop();
    calls.value = [call, ...calls.value].slice(0, MAX_CALLS);
    void call.run(inspection);
    requestAnimationFrame(() => results.current?.focus());
  };
  const noTask = taskId.value.trim() === '';

  return (
    <>
      <Form class="panel-form" onSubmit={() => start('stream')}>
        <div class="filters">
          <ChoiceField
            box="grows"
            label="Interface"
            value={String(chosen.value)}
            options={offers.map((offer, at) => [String(at), labelOf(offer)] as const)}
            onChange={(value) => (chosen.value = Number(value))}
          />
          <TextField type="text" label="Task id" text={taskId} {...VERBATIM} />
          <TextField type="text" label="Context id" text={contextId} {...VERBATIM} />
        </div>
        <div>
          <label for="try-text">Message</label>
          <textarea id="try-text" rows={3} {...bound(text)} />
        </div>
        <div class="actions wrap">
          <button type="submit" class="primary" disabled={text.value.trim() === ''}>
            Stream
          </button>
          <PageButton disabled={text.value.trim() === ''} onClick={() => start('send')}>
            Send
          </PageButton>
          <PageButton disabled={noTask} onClick={() => start('get')}>
            Get the task
          </PageButton>
          <PageButton disabled={noTask} onClick={() => start('cancel')}>
            Cancel the task
          </PageButton>
          <span class="replay">
            <label for="try-after">Last event id</label>
            <input id="try-after" size={6} autocomplete="off" {...bound(after)} />
            <PageButton
              disabled={noTask}
              onClick={() => start('replay', { after: after.value.trim() })}
            >
              Subscribe
            </PageButton>
          </span>
        </div>
      </Form>
      <div ref={results} tabIndex={-1} class="results">
        {calls.value.map((call) => (
          <CallResult
            key={call}
            call={call}
            onTask={(id) => (taskId.value = id)}
            onReplay={(id) =>
              start('replay', { offer: call.input.offer, taskId: call.taskId.value, after: id })
            }
          />
        ))}
      </div>
    </>
  );
}

function labelOf(offer: AgentInterface): string {
  return cleanLine(`${nameOfInterface(offer)} at ${offer.url}`);
}

const TITLES: Readonly<Record<TriedOperation, string>> = {
  send: 'Send message',
  stream: 'Stream message',
  get: 'Get task',
  cancel: 'Cancel task',
  replay: 'Subscribe to task',
};

interface ResultProps {
  readonly call: TriedCall;
  readonly onTask: (id: string) => void;
  readonly onReplay: (id: string) => void;
}

function CallResult({ call, onTask, onReplay }: ResultProps) {
  const { operation, offer, after } = call.input;
  const from = after === '' ? '' : ` after ${cleanLine(after)}`;
  const task = call.taskId.value;
  const running = call.running.value;
  const error = call.error.value;
  return (
    <section class="call-result" aria-label={`${TITLES[operation]}${from}`}>
      <h2>
        {TITLES[operation]}
        {from} <span class="dim">{cleanLine(nameOfInterface(offer))}</span>
      </h2>
      <p class="actions wrap" role="status">
        <span class={running ? 't-accent' : error === undefined ? 't-good' : 't-bad'}>
          {running ? '◐ running' : error === undefined ? '✓ ended' : '✗ failed'}
        </span>
        {task === '' ? null : (
          <>
            <span class="dim">
              task <span class="mono">{cleanLine(task)}</span>
            </span>
            <PageButton class="quiet" onClick={() => onTask(task)}>
              Use this task
            </PageButton>
          </>
        )}
        {running ? <PageButton onClick={() => call.stop()}>Stop</PageButton> : null}
      </p>
      {error === undefined ? null : <p class="said">{cleanLine(reasonOf(error))}</p>}
      {call.exchanges.value.map((exchange) => (
        <ExchangeView
          key={exchange.id}
          exchange={exchange}
          onReplay={task === '' ? undefined : onReplay}
        />
      ))}
    </section>
  );
}
