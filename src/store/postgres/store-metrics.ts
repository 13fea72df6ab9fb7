/**
 * The metrics of a task store, about its connections and its cluster. Only a store in PostgreSQL has metrics.
 */
import type { Metrics } from '../../base/metrics/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import { PostgresStore } from './postgres-store.ts';

export const STORE_METRICS = {
  parley_store_connections: {
    type: 'gauge',
    help: 'Open connections to PostgreSQL. The state is "busy" or "idle".',
    labels: ['state'],
  },
  parley_store_connections_max: {
    type: 'gauge',
    help: 'Maximum number of connections to PostgreSQL.',
  },
  parley_store_statements_waiting: {
    type: 'gauge',
    help: 'Statements that wait for a connection to PostgreSQL.',
  },
  parley_cluster_peers: { type: 'gauge', help: 'Other nodes that are alive.' },
  parley_cluster_leader: {
    type: 'gauge',
    help: '1 if this node is the one that ends expired tasks and removes old ones, otherwise 0.',
  },
  parley_cluster_listening: {
    type: 'gauge',
    help: '1 if hints of other nodes arrive, 0 if the node only polls the database.',
  },
  parley_cluster_lease_seconds: { type: 'gauge', help: 'Length of the lease of this node.' },
  parley_cluster_lease_age_seconds: {
    type: 'gauge',
    help: 'Time since the lease of this node was renewed. +Inf if the node has no lease.',
  },
  parley_cluster_followed_tasks: {
    type: 'gauge',
    help: 'Tasks of other nodes that clients read at this node.',
  },
  parley_cluster_reader_lag_seconds: {
    type: 'gauge',
    help: "How long this node has been behind with the events of another node's task. The greatest value of all tasks.",
  },
  parley_cluster_reader_lag_events: {
    type: 'gauge',
    help: 'Greatest number of events of one task that other nodes have stored and that this node has not read yet.',
  },
} as const;

/** Registers the metrics of the store. Does nothing if the store is not in PostgreSQL. */
export function watchStore(
  metrics: Pick<Metrics<keyof typeof STORE_METRICS>, 'gauge'>,
  store: TaskStore,
): void {
  if (!(store instanceof PostgresStore)) return;
  const { cluster } = store;
  metrics.gauge('parley_store_connections', () => {
    const { open, idle } = store.poolStats();
    return [
      [{ state: 'busy' }, open - idle],
      [{ state: 'idle' }, idle],
    ];
  });
  metrics.gauge('parley_store_connections_max', () => store.poolStats().max);
  metrics.gauge('parley_store_statements_waiting', () => store.poolStats().waiting);
  metrics.gauge('parley_cluster_peers', () => cluster.stats().peers);
  metrics.gauge('parley_cluster_leader', () => Number(cluster.stats().sweeps));
  metrics.gauge('parley_cluster_listening', () => Number(cluster.stats().listens));
  metrics.gauge('parley_cluster_lease_seconds', () => cluster.leaseMs / 1000);
  metrics.gauge('parley_cluster_lease_age_seconds', () => cluster.stats().leaseAgeMs / 1000);
  metrics.gauge('parley_cluster_followed_tasks', () => cluster.stats().watched);
  metrics.gauge('parley_cluster_reader_lag_seconds', () => cluster.stats().lagMs / 1000);
  metrics.gauge('parley_cluster_reader_lag_events', () => cluster.stats().lagEvents);
}
