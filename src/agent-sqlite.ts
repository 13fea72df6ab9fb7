/**
 * Stores for sessions and artifacts in a SQLite file.
 *
 *   createRunner({ agent, sessions: sqliteSessions('agent.db'), artifacts: sqliteArtifacts('agent.db') });
 */
export * from './agent/sqlite/index.ts';
