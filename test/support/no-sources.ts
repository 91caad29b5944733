/** Addresses at which no source of cores, of Java or of players' profiles responds. */
export const NO_SOURCES = Object.fromEntries(
  [
    'VERSION_MANIFEST_URL',
    'PAPER_URL',
    'PURPUR_URL',
    'LEAF_URL',
    'PUFFERFISH_URL',
    'FABRIC_META_URL',
    'QUILT_META_URL',
    'FORGE_URL',
    'FORGE_PROMOTIONS_URL',
    'NEOFORGE_URL',
    'ADOPTIUM_URL',
    'MOJANG_API_URL',
  ].map((name) => [name, 'http://127.0.0.1:9/']),
);
