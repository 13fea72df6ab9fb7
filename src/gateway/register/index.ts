export { registerPath } from './register-path.ts';
export type { Register } from './register.ts';
export { openPostgresRegister } from './postgres-register.ts';
export { REGISTER_TABLES } from './postgres-tables.ts';
export { SERVER_BUSY_MS, openRegister } from './sqlite-register.ts';
