export { createUpgrades, type Upgrades } from './upgrades.ts';
