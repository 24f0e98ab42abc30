import { loadTogether } from '../../support/run/together.ts';

await loadTogether('api');
