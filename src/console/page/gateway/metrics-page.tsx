/**
 * The metrics of the gateway's process since its start: requests, errors, failovers, latencies and circuit breakers.
 */
import { cleanLine } from '../../../display/index.ts';
import { Problem, useLoaded } from '../parts/loading.tsx';
import { durationOf, FactRow, Moment } from '../parts/task-parts.tsx';
import { WideTable } from '../parts/lists.tsx';
import type { Server } from '../server/server.ts';
import { quantile, readMetrics, sumSamples, valuesOfLabel, type Sample } from './metrics-text.ts';

const EVERY_MS = 10_000;
const CALLS = 'parley_model_calls_total';
const CALL_TIME = 'parley_model_call_duration_seconds';
const REQUESTS = 'parley_http_requests_total';
const REQUEST_TIME = 'parley_http_request_duration_seconds';

export function MetricsPage({ server }: { readonly server: Server }) {
  const loaded = useLoaded(
    async (signal) => readMetrics(await (await server.ask('/metrics', { signal })).text()),
    [server],
    { everyMs: EVERY_MS },
  );
  const samples = loaded.value;
  return (
    <>
      <h1>Activity since the start</h1>
      {loaded.error === undefined ? null : <Problem error={loaded.error} onRetry={loaded.reload} />}
      {samples ? <Numbers samples={samples} /> : null}
    </>
  );
}

function Numbers({ samples }: { readonly samples: readonly Sample[] }) {
  const started = sumSamples(samples, 'process_start_time_seconds');
  const facts: readonly (readonly [string, string])[] = [
    ['Requests', count(sumSamples(samples, REQUESTS))],
    ['Errors (5xx)', count(sumSamples(samples, REQUESTS, ({ status = '' }) => status >= '500'))],
    ['Refused', count(sumSamples(samples, 'parley_refused_total'))],
    ['Failovers', count(sumSamples(samples, 'parley_model_failovers_total'))],
    ['Retries', count(sumSamples(samples, 'parley_model_retries_total'))],
    ['Tasks running', count(sumSamples(samples, 'parley_executions_running'))],
    ['Streams open', count(sumSamples(samples, 'parley_streams_open'))],
  ];
  const providers = valuesOfLabel(samples, CALLS, 'provider');
  return (
    <>
      <p class="dim">
        Started <Moment at={new Date(started * 1000).toISOString()} />. These numbers cover only the
        gateway process that answered.
      </p>
      <dl class="facts tiles">
        {facts.map(([name, value]) => (
          <FactRow key={name} name={name}>
            {value}
          </FactRow>
        ))}
      </dl>
      <h2>Providers</h2>
      {providers.length === 0 ? (
        <p class="dim">No model has been called yet.</p>
      ) : (
        <WideTable
          label="Providers"
          columns={['Provider', 'Circuit', 'Calls', 'Errors', 'Failovers', 'p50', 'p95']}
        >
          {providers.map((provider) => (
            <ProviderRow key={provider} provider={provider} samples={samples} />
          ))}
        </WideTable>
      )}
      <h2>Requests</h2>
      <WideTable label="Requests" columns={['Route', 'Requests', '4xx', '5xx', 'p50', 'p95']}>
        {valuesOfLabel(samples, REQUESTS, 'route').map((route) => {
          const here = (labels: Sample['labels']) => labels['route'] === route;
          const withStatus = (first: string) =>
            count(
              sumSamples(
                samples,
                REQUESTS,
                (labels) => here(labels) && labels['status']?.startsWith(first) === true,
              ),
            );
          return (
            <tr key={route}>
              <th scope="row">{cleanLine(route)}</th>
              <td>{count(sumSamples(samples, REQUESTS, here))}</td>
              <td>{withStatus('4')}</td>
              <td>{withStatus('5')}</td>
              <td>{time(quantile(samples, REQUEST_TIME, 0.5, here))}</td>
              <td>{time(quantile(samples, REQUEST_TIME, 0.95, here))}</td>
            </tr>
          );
        })}
      </WideTable>
    </>
  );
}

interface ProviderProps {
  readonly provider: string;
  readonly samples: readonly Sample[];
}

function ProviderRow({ provider, samples }: ProviderProps) {
  const here = (labels: Sample['labels']) => labels['provider'] === provider;
  const open = sumSamples(samples, 'parley_model_circuit_open', here) > 0;
  const failed = (labels: Sample['labels']) => here(labels) && labels['outcome'] !== 'ok';
  return (
    <tr>
      <th scope="row">{cleanLine(provider)}</th>
      <td class={open ? 't-bad' : 't-good'}>{open ? '✗ open' : '✓ closed'}</td>
      <td>{count(sumSamples(samples, CALLS, here))}</td>
      <td>{count(sumSamples(samples, CALLS, failed))}</td>
      <td>{count(sumSamples(samples, 'parley_model_failovers_total', here))}</td>
      <td>{time(quantile(samples, CALL_TIME, 0.5, here))}</td>
      <td>{time(quantile(samples, CALL_TIME, 0.95, here))}</td>
    </tr>
  );
}

function count(value: number): string {
  return value.toLocaleString();
}

function time(seconds: number | undefined): string {
  return seconds === undefined ? '–' : durationOf(seconds * 1000);
}
