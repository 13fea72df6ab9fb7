/** Sessions and artifacts in SQLite: `parley-a2a/agent/sqlite`. */
export * from './agent/sqlite/index.ts';
