import { loadTogether } from '../../support/together.ts';

await loadTogether('actors');
